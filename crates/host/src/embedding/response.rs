//! The answer of an embeddings server, checked.

use kb_base::diagnostic::Code;
use kb_base::value::{Failure, Json, one_line};

/// Maximum number of dimensions.
const MOST: usize = 16_384;
/// Characters of an error of the server that are shown.
const SHOWN: usize = 200;

/// The vectors of `count` texts in the body of an answer, in the order of the texts and of length 1. `dimensions` is the
/// length that the settings name.
pub(super) fn vectors(
    body: &Json,
    count: usize,
    dimensions: Option<usize>,
) -> Result<Vec<Vec<f32>>, String> {
    let data = body["data"].as_array().ok_or_else(|| match error_text(body) {
        Some(text) => format!("it answered: {text}"),
        None => "its answer has no `data`".to_owned(),
    })?;
    if data.len() != count {
        return Err(format!("it answered with {} vectors to {count} texts", data.len()));
    }
    let mut found: Vec<Option<Vec<f32>>> = vec![None; count];
    for (place, one) in data.iter().enumerate() {
        let index = one["index"].as_u64().map_or(place, |index| index as usize);
        let slot = found.get_mut(index).filter(|slot| slot.is_none());
        let slot =
            slot.ok_or_else(|| format!("its answer has no vector or two for a text ({index})"))?;
        *slot = Some(vector(&one["embedding"])?);
    }
    let found: Vec<Vec<f32>> = found.into_iter().flatten().collect();
    let expected = dimensions.or_else(|| found.first().map(Vec::len));
    match found.iter().find(|own| Some(own.len()) != expected) {
        Some(other) => {
            let (expected, other) = (expected.unwrap_or_default(), other.len());
            Err(format!("it answered with a vector of {other} dimensions instead of {expected}"))
        }
        None => Ok(found),
    }
}

/// The text of an error, in the forms that servers have.
pub(super) fn error_text(body: &Json) -> Option<String> {
    let error = &body["error"];
    let text = error["message"].as_str().or(error.as_str()).or(body.as_str())?;
    (!text.trim().is_empty()).then(|| one_line(text, SHOWN))
}

/// A vector of length 1. JSON has no NaN and no infinity; servers write `null`, a text, or a number that is too large.
fn vector(value: &Json) -> Result<Vec<f32>, String> {
    let numbers = value.as_array().filter(|numbers| !numbers.is_empty());
    let numbers = numbers.ok_or("its answer has no list of numbers as `embedding`")?;
    if numbers.len() > MOST {
        return Err(format!("it answered with a vector of more than {MOST} dimensions"));
    }
    let number = |own: &Json| own.as_f64().filter(|own| (*own as f32).is_finite());
    let numbers: Option<Vec<f64>> = numbers.iter().map(number).collect();
    let numbers =
        numbers.ok_or("it answered with a vector with a value that is no finite number")?;
    let length = numbers.iter().map(|own| own * own).sum::<f64>().sqrt();
    let length = if length > 0.0 { length } else { 1.0 };
    Ok(numbers.into_iter().map(|own| (own / length) as f32).collect())
}

/// The failure of an answer that cannot be used.
pub(super) fn unusable(server: &str, why: &str) -> Box<Failure> {
    let message = format!("the embeddings server `{server}` cannot be used: {why}");
    let help = "see `knowledge.embeddings` in the settings; `provider: none` finds by words alone";
    Box::new(Failure::new(Code::RESPONSE_UNUSABLE, message).help(help))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(body: &Json, count: usize, dimensions: Option<usize>) -> String {
        vectors(body, count, dimensions).unwrap_err()
    }

    #[test]
    fn vectors_are_in_the_order_of_the_texts_and_of_length_1() {
        let body = json!({"data": [
            {"index": 1, "embedding": [0, -2]},
            {"index": 0, "embedding": [3, 4]},
        ]});
        assert_eq!(vectors(&body, 2, Some(2)).unwrap(), [[0.6, 0.8], [0.0, -1.0]]);
        let zero = json!({"data": [{"embedding": [0, 0]}]});
        assert_eq!(vectors(&zero, 1, None).unwrap(), [[0.0, 0.0]]);
    }

    #[test]
    fn an_answer_that_is_not_one_vector_of_finite_numbers_for_each_text_is_refused() {
        let one = |embedding: Json| json!({"data": [{"index": 0, "embedding": embedding}]});
        let large: Vec<u8> = vec![1; MOST + 1];
        for (embedding, why) in [
            (json!(null), "its answer has no list of numbers as `embedding`"),
            (json!([]), "its answer has no list of numbers as `embedding`"),
            (json!("AAAA"), "its answer has no list of numbers as `embedding`"),
            (json!([1, null]), "it answered with a vector with a value that is no finite number"),
            (json!(["NaN"]), "it answered with a vector with a value that is no finite number"),
            (json!([1e300]), "it answered with a vector with a value that is no finite number"),
            (json!(large), "it answered with a vector of more than 16384 dimensions"),
        ] {
            assert_eq!(refused(&one(embedding), 1, None), why);
        }
        let two = |first: Json, second: Json| json!({"data": [first, second]});
        let of = |index: u8, embedding: Json| json!({"index": index, "embedding": embedding});
        assert_eq!(
            refused(&two(of(0, json!([1])), of(1, json!([1, 2]))), 2, None),
            "it answered with a vector of 2 dimensions instead of 1"
        );
        assert_eq!(
            refused(&one(json!([1])), 1, Some(384)),
            "it answered with a vector of 1 dimensions instead of 384"
        );
        for body in
            [two(of(0, json!([1])), of(0, json!([1]))), two(of(0, json!([1])), of(7, json!([1])))]
        {
            assert!(refused(&body, 2, None).contains("no vector or two for a text"));
        }
        assert_eq!(refused(&one(json!([1])), 2, None), "it answered with 1 vectors to 2 texts");
        assert_eq!(
            refused(&json!({"error": {"message": "no\nmodel"}}), 1, None),
            "it answered: no model"
        );
        assert_eq!(refused(&json!({}), 1, None), "its answer has no `data`");
    }
}
